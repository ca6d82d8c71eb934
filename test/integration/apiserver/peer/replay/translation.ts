/** Translates names of one dialect in texts to another's. */
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';

/** Translates texts of the `kubernetes` dialect to another's. Pure. */
export function translation(dialect: Dialect): (text: string) => string {
  const names = new Map<string, string>();
  collect(kubernetesDialect, dialect, names);
  // Longest first, since shorter names may be parts of longer ones.
  const all = [...names.keys()].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(all.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|'), 'g');
  return (text) => text.replaceAll(pattern, (name) => names.get(name) ?? name);
}

function collect(from: unknown, to: unknown, names: Map<string, string>): void {
  if (typeof from === 'string' && typeof to === 'string') {
    if (from !== to && from.length > 4) names.set(from, to);
  } else if (typeof from === 'object' && typeof to === 'object' && from !== null && to !== null) {
    for (const key of Object.keys(from)) collect(Reflect.get(from, key), Reflect.get(to, key), names);
  }
}
