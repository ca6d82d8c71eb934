/** Options that every daemon has. */
import type { OptionTable } from '#daemon/options/option.js';

export const genericOptions = {
  dialect: {
    type: 'string',
    default: 'orch',
    oneOf: ['orch', 'kubernetes'],
    section: 'Generic',
    meaning: 'API dialect of the cluster; must be the same for all of its daemons.',
  },
} as const satisfies OptionTable;

/** The dialect of a command line. Read before the option table is built, because its defaults depend on it. */
export function dialectArgument(argv: readonly string[]): string {
  let name: string = genericOptions.dialect.default;
  for (const [index, arg] of argv.entries()) {
    if (arg === '--') break;
    if (arg === '--dialect') name = argv[index + 1] ?? name;
    else if (arg.startsWith('--dialect=')) name = arg.slice('--dialect='.length);
  }
  return name;
}
