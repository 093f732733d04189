import { describeLoop } from './in-session.ts';

describeLoop('qwen');
