import { describeTerminal } from './terminal.ts';

describeTerminal('copilot');
