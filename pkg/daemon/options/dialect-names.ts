/** The spelling of option names that hold the product's name. */
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { OptionDeclaration, OptionTable } from '#daemon/options/option.js';

/**
 * The name that a command line of that dialect uses for an option: `orch-api-qps` is `kube-api-qps`,
 * `nodeagent-timeout` is `kubelet-timeout`, `authorization-orchconfig` is `authorization-kubeconfig`.
 * A name without the product's part stays as it is.
 */
export function productOption(dialect: Dialect, name: string): string {
  const words = new Map([
    [orchDialect.shortName, dialect.shortName],
    [`${orchDialect.shortName}config`, `${dialect.shortName}config`],
    [orchDialect.components.nodeAgent, dialect.components.nodeAgent],
  ]);
  return name
    .split('-')
    .map((word) => words.get(word) ?? word)
    .join('-');
}

/** The name by which command lines of the dialect know the option. */
function shownName(name: string, { aliases = [] }: OptionDeclaration, dialect: Dialect): string {
  if (dialect === orchDialect) return name;
  const spelled = productOption(dialect, name);
  return aliases.find((alias) => alias === spelled || alias.startsWith(`${dialect.product}-`)) ?? name;
}

/** The table as help texts of the dialect show it: by its names, which are no longer others. */
export function withShownNames(table: OptionTable, dialect: Dialect): OptionTable {
  const entries = Object.entries(table).map(([name, declaration]): [string, OptionDeclaration] => {
    const shown = shownName(name, declaration, dialect);
    const aliases = declaration.aliases?.filter((alias) => alias !== shown) ?? [];
    return [shown, { ...declaration, aliases }];
  });
  return Object.fromEntries(entries);
}

/** The text with each option of the table that it speaks of (`--name`) in the spelling of the dialect. */
export function withSpelledOptions(text: string, table: OptionTable, dialect: Dialect): string {
  if (dialect === orchDialect) return text;
  return text.replace(/--([a-z0-9]+(?:-[a-z0-9]+)*)/g, (written, name: string) => {
    const declaration = Object.hasOwn(table, name) ? table[name] : undefined;
    return declaration === undefined ? written : `--${shownName(name, declaration, dialect)}`;
  });
}

/** The table in which every option also goes by its name in the dialect. Values keep the table's own names. */
export function withDialectNames<T extends OptionTable>(table: T, dialect: Dialect): T {
  const entries = Object.entries(table).map(([name, declaration]): [string, OptionDeclaration] => {
    const spelled = productOption(dialect, name);
    if (spelled === name || Object.hasOwn(table, spelled)) return [name, declaration];
    const aliases = declaration.aliases ?? [];
    return [name, aliases.includes(spelled) ? declaration : { ...declaration, aliases: [...aliases, spelled] }];
  });
  return Object.fromEntries(entries) as unknown as T;
}
