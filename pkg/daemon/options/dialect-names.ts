/** Spelling of option names that contain the product's name. */
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { OptionDeclaration, OptionTable } from '#daemon/options/option.js';

/**
 * An option's name in a dialect: `orch-api-qps` is `kube-api-qps`, `nodeagent-timeout` is `kubelet-timeout`,
 * `authorization-orchconfig` is `authorization-kubeconfig`. Other names are unchanged.
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

/** The name that a dialect's help and messages show. */
function shownName(name: string, { aliases = [] }: OptionDeclaration, dialect: Dialect): string {
  if (dialect === orchDialect) return name;
  const spelled = productOption(dialect, name);
  return aliases.find((alias) => alias === spelled || alias.startsWith(`${dialect.product}-`)) ?? name;
}

/** The table under the names that the dialect's help shows. */
export function withShownNames(table: OptionTable, dialect: Dialect): OptionTable {
  const entries = Object.entries(table).map(([name, declaration]): [string, OptionDeclaration] => {
    const shown = shownName(name, declaration, dialect);
    const aliases = declaration.aliases?.filter((alias) => alias !== shown) ?? [];
    return [shown, { ...declaration, aliases }];
  });
  return Object.fromEntries(entries);
}

/** Replaces each option name (`--name`) in the text by the dialect's spelling. */
export function withSpelledOptions(text: string, table: OptionTable, dialect: Dialect): string {
  if (dialect === orchDialect) return text;
  return text.replace(/--([a-z0-9]+(?:-[a-z0-9]+)*)/g, (written, name: string) => {
    const declaration = Object.hasOwn(table, name) ? table[name] : undefined;
    return declaration === undefined ? written : `--${shownName(name, declaration, dialect)}`;
  });
}

/** Adds the dialect's name of each option as an alias. Values keep the table's names. */
export function withDialectNames<T extends OptionTable>(table: T, dialect: Dialect): T {
  const entries = Object.entries(table).map(([name, declaration]): [string, OptionDeclaration] => {
    const spelled = productOption(dialect, name);
    if (spelled === name || Object.hasOwn(table, spelled)) return [name, declaration];
    const aliases = declaration.aliases ?? [];
    return [name, aliases.includes(spelled) ? declaration : { ...declaration, aliases: [...aliases, spelled] }];
  });
  return Object.fromEntries(entries) as unknown as T;
}
