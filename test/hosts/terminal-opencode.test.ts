import { describeTerminal } from './terminal.ts';

describeTerminal('opencode');
