import { describeTerminal } from './terminal.ts';

describeTerminal('qwen');
