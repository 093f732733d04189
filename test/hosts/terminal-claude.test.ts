import { describeTerminal } from './terminal.ts';

describeTerminal('claude');
