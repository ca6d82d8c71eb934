/** The imports in this repository as the compiler resolves them, imports of types included. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface Import {
  /** Paths of source files from the repository's root. */
  readonly from: string;
  readonly to: string;
}

const run = promisify(execFile);
const maxOutputBytes = 256 * 2 ** 20;
const projects = ['tsconfig.json', 'pkg/dashboard/client'];
const explain = (project: string) => [
  'node_modules/.bin/tsc',
  ...['-p', project, '--noEmit', '--noCheck', '--incremental', 'false', '--explainFiles'],
];

/** Out of what `tsc --explainFiles` prints: the path of a file, and below it, indented, each reason why it is read. */
export function parseExplanation(text: string): Import[] {
  const imports: Import[] = [];
  let to = '';
  for (const line of text.split('\n')) {
    if (line !== '' && !line.startsWith(' ')) to = line;
    const from = /^ +Imported via .* from file '([^']+)'/.exec(line)?.[1];
    if (from !== undefined && isSource(from) && isSource(to)) imports.push({ from, to });
  }
  return imports;
}

function isSource(path: string): boolean {
  return /\.tsx?$/.test(path) && !path.endsWith('.d.ts') && !path.startsWith('.') && !path.includes('node_modules/');
}

/** All imports of the compiler's projects in this directory. Nothing is compiled. */
export async function readImports(): Promise<Import[]> {
  const lists = await Promise.all(projects.map(readProject));
  // Both projects have the code that the browser shares.
  const all = new Map(lists.flat().map((each) => [`${each.from} ${each.to}`, each]));
  return [...all.values()];
}

async function readProject(project: string): Promise<Import[]> {
  // The hooks of a test runner must not reach the compiler.
  const { stdout } = await run('env', ['-u', 'NODE_OPTIONS', ...explain(project)], { maxBuffer: maxOutputBytes });
  const imports = parseExplanation(stdout);
  if (imports.length === 0) throw new Error('the compiler names no imports: does it still print what it reads?');
  return imports;
}
