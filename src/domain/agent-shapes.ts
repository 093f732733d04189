/** What readers rely on in the events of an agent's stream, as the shapes of the ledger's other lines are written. */
import type { AgentEvent } from './agent-event.ts';
import { type Kind, tokensAt } from './ledger-shapes.ts';

export const AGENT_SHAPES: Readonly<Record<AgentEvent['kind'], Readonly<Record<string, Kind>>>> = {
  session: {},
  text: { 'event.text': 'string' },
  aside: { 'event.from': 'string', 'event.text': 'string' },
  'tool-start': { 'event.id': 'string', 'event.name': 'string', 'event.summary': 'string' },
  'tool-end': {
    'event.id': 'string',
    'event.ok': 'boolean',
    'event.output.preview': 'string',
    'event.output.lines': 'number',
  },
  todo: { 'event.items': 'list' },
  usage: {
    'event.cost?': 'number',
    'event.estimate?': 'object',
    'event.estimate.cost?': 'number',
    'event.estimate.source?': 'string',
    'event.tokens?': 'object',
    ...tokensAt('event.tokens'),
  },
  result: {},
  trouble: { 'event.trouble.class': 'string', 'event.trouble.message': 'string' },
  progress: { 'event.text': 'string' },
  unknown: { 'event.what': 'string' },
};
