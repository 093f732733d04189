/** The program that host plugins carry: one self-contained file. */
import { main } from './main.ts';

void main(process.argv.slice(2));
