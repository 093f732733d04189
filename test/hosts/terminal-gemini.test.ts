import { describeTerminal } from './terminal.ts';

describeTerminal('gemini');
