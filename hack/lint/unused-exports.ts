/**
 * Finds exports that no other file imports, tests included. An exported type that its own file mentions again is not one of
 * them, because it is a part of another export. In formatted sources an export begins in the first column.
 */
import { posix } from 'node:path';
import { withoutComments } from './comments.js';

export interface UnusedExport {
  readonly path: string;
  readonly name: string;
}

const exported = /^export (?:declare )?(?:abstract |async )?(function\*?|class|const|let|enum|interface|type) (\w+)/gm;
const types: ReadonlySet<string> = new Set(['interface', 'type']);
const named = /^(?:import|export) (?:type )?\{([^}]*)\} from '([^']+)'/gm;
/** Modules that are taken as a whole: `import * as`, `import()` as a value or as a type. */
const whole = /^(?:import|export) (?:type )?\* (?:as \w+ )?from '([^']+)'|\bimport\('([^']+)'\)/gm;

/** The source that a specifier names in the file at `from`; undefined for packages. */
export type Resolve = (specifier: string, from: string) => string | undefined;

/** Of sources by path. `roots` are started by name, not imported. */
export function unusedExports(
  sources: ReadonlyMap<string, string>,
  { resolve, isRoot }: { readonly resolve: Resolve; readonly isRoot: (path: string) => boolean },
): UnusedExport[] {
  const used = new Set<string>();
  const usedWhole = new Set<string>();
  for (const [path, text] of sources) {
    for (const [, names = '', specifier = ''] of text.matchAll(named)) {
      const from = resolve(specifier, path);
      for (const name of names.split(',')) used.add(`${from} ${importedName(name)}`);
    }
    for (const [, star, call] of text.matchAll(whole)) usedWhole.add(`${resolve(star ?? call ?? '', path)}`);
  }
  const unused: UnusedExport[] = [];
  for (const [path, text] of sources) {
    if (isRoot(path) || usedWhole.has(path)) continue;
    for (const [, kind = '', name = ''] of text.matchAll(exported)) {
      if (used.has(`${path} ${name}`)) continue;
      if (types.has(kind) && isMentionedAgain(text, name)) continue;
      unused.push({ path, name });
    }
  }
  return unused;
}

/** `type Name as Other` imports `Name`. */
function importedName(text: string): string {
  return (
    text
      .trim()
      .replace(/^type /, '')
      .split(' as ', 1)[0] ?? ''
  );
}

function isMentionedAgain(text: string, name: string): boolean {
  return [...withoutComments(text).matchAll(new RegExp(`\\b${name}\\b`, 'g'))].length > 1;
}

/** `imports` of package.json: `#room/*.js`, where it is in sources and where compiled. */
export type Subpaths = Readonly<Record<string, { readonly source: string; readonly default: string }>>;

/** Resolves this repository's own specifiers: relative ones and those of `imports` in package.json. */
export function resolver(subpaths: Subpaths): Resolve {
  const rooms = Object.entries(subpaths).map(([pattern, { source }]) => ({
    prefix: pattern.slice(0, pattern.indexOf('*')),
    folder: posix.normalize(source.slice(0, source.indexOf('*'))),
  }));
  return (specifier, from) => {
    const source = specifier.replace(/\.js$/, '.ts');
    if (source.startsWith('.')) return posix.join(posix.dirname(from), source);
    const room = rooms.find(({ prefix }) => source.startsWith(prefix));
    return room && room.folder + source.slice(room.prefix.length);
  };
}

/** Finds sources with markup, too, whose compiled names are the same. */
export function withPages(resolve: Resolve, sources: ReadonlyMap<string, string>): Resolve {
  return (specifier, from) => {
    const path = resolve(specifier, from);
    return path !== undefined && !sources.has(path) && sources.has(`${path}x`) ? `${path}x` : path;
  };
}
