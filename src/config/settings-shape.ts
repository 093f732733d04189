/** The settings as the rest of the program sees them, checked and with their defaults: the types of the rows. */
import type { ValueOf } from './kinds.ts';
import type { Rows } from './settings.ts';

/** A row with a default is always there. */
type WithDefault = Extract<Rows, { readonly default: unknown } | { readonly defaults: unknown }>;
type Row<Key extends Rows['key']> = Extract<Rows, { readonly key: Key }>;

/** Every setting of docs/reference/settings.md, checked and with its default. */
export type Settings = {
  readonly [Key in WithDefault['key']]: Filled<ValueOf<Row<Key>['kind']>, DefaultOf<Row<Key>>>;
} & {
  readonly [Key in Exclude<Rows['key'], WithDefault['key']>]?: ValueOf<Row<Key>['kind']>;
};

type DefaultOf<R> = R extends { readonly default: infer Default } ? Default : never;

/** Objects merge, so the fields of the default are always there. */
type Filled<Value, Default> = Value extends readonly unknown[] | string | number | boolean
  ? Value
  : Value & Required<Pick<Value, keyof Value & keyof Default>>;

type ObjectIn<Value> = Exclude<Value, string | undefined>;

/** An agent in the settings: its command, flags, model and prices. */
export type AgentSettings = ObjectIn<Settings['agent']>;
export type NotifySettings = ObjectIn<Settings['notify']>;
export type SandboxSettings = Settings['sandbox'];
