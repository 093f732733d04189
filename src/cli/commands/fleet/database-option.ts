/** The flag that every command of the fleet has. */
export const DATABASE = [
  '--database <url>',
  'the PostgreSQL of the fleet (default: RALPH_DATABASE_URL, or that of `ralph fleet up`)',
] as const;
