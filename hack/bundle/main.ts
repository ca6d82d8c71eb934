/**
 * Keeps the list of the files that the newest build has bundled, `dist/bundle.json`: archives and images are made of these.
 * Those of older builds stay for a day after they were replaced, for programs that have been running since.
 *
 *     node main.js begin                  # before a build: those of the last one are used until now
 *     node main.js end METAFILE… -- FILE… # after it; the files are those that esbuild does not tell of
 *     node main.js list [PROGRAM…]        # of all programs and what belongs to none, or of these programs
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { argv, stdout } from 'node:process';
import { type BundledFile, filesOf, type Metafile, outdated } from './files.js';

const folder = 'dist/bundle';
const list = 'dist/bundle.json';
/** The files of each program. */
const lists = 'dist/bundle-programs.json';

function bundled(): readonly string[] {
  return existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as readonly string[]) : [];
}

function bundledOf(programs: readonly string[]): string[] {
  const files = JSON.parse(readFileSync(lists, 'utf8')) as Readonly<Record<string, readonly string[]>>;
  const missing = programs.filter((program) => !Object.hasOwn(files, program));
  if (missing.length > 0) throw new Error(`not bundled: ${missing.join(', ')}`);
  return [...new Set(programs.flatMap((program) => files[program] ?? []))].sort();
}

function present(): BundledFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, usedMs: statSync(path).mtimeMs }));
}

const [mode, ...given] = argv.slice(2);
switch (mode) {
  case 'begin': {
    const now = new Date();
    for (const path of bundled()) if (existsSync(path)) utimesSync(path, now, now);
    break;
  }
  case 'end': {
    const between = given.indexOf('--');
    const metafiles = given
      .slice(0, between)
      .map((path) => [basename(path, '.json'), JSON.parse(readFileSync(path, 'utf8')) as Metafile] as const);
    const others = given.slice(between + 1);
    const files = filesOf(
      metafiles.map(([, metafile]) => metafile),
      others,
    );
    const ofPrograms = metafiles.map(([program, metafile]) => {
      // What threads load is beside the chunks of all programs.
      const beside = others.filter((path) => [program, 'chunks'].some((name) => path.startsWith(`${folder}/${name}/`)));
      return [program, filesOf([metafile], beside)] as const;
    });
    const lost = files.filter((path) => !existsSync(path));
    if (lost.length > 0) throw new Error(`not there after the build: ${lost.join(', ')}`);
    writeFileSync(list, `${JSON.stringify(files, undefined, 1)}\n`);
    writeFileSync(lists, `${JSON.stringify(Object.fromEntries(ofPrograms), undefined, 1)}\n`);
    for (const path of outdated(present(), files, Date.now())) rmSync(path);
    break;
  }
  case 'list':
    stdout.write((given.length === 0 ? bundled() : bundledOf(given)).join('\n'));
    break;
  default:
    throw new Error(`begin, end or list, not ${mode}`);
}
