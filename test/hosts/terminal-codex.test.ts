import { describeTerminal } from './terminal.ts';

describeTerminal('codex');
