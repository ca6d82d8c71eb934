/** README's tables link every page of `docs/` and name every room of `pkg/`; no page names a missing file. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { below } from '../../../hack/lint/layers.js';

const root = new URL('../../../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');

t.test('README links every page of docs/', (t) => {
  const pages = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' });
  const missing = pages.filter((page) => page.endsWith('.md') && !readme.includes(`](docs/${page})`));
  t.same(missing, [], 'pages without a link');
  t.end();
});

t.test('README links nothing that is not there', (t) => {
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = '']) => path);
  const broken = links.filter((path) => !existsSync(new URL(path, root)));
  t.same(broken, [], 'links to files that do not exist');
  t.end();
});

t.test('README names every room of pkg/', (t) => {
  const rooms = readdirSync(new URL('pkg/', root), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const missing = rooms.filter(({ name }) => !readme.includes(`\n| \`pkg/${name}\` |`)).map(({ name }) => name);
  t.same(missing, [], 'rooms without a row');
  t.end();
});

t.test('imports go down the table of rooms', (t) => {
  const place = (room: string) => readme.indexOf(`\n| \`pkg/${room}\` |`);
  const upward = Object.entries(below).flatMap(([room, lower]) =>
    lower.filter((name) => place(name) < place(room)).map((name) => `${room} stands below ${name}`),
  );
  t.same(upward, [], 'rooms that stand below a room they import');
  t.end();
});

/** A folder in the sources of release 1.24. */
const ofKubectl = 'test/cmd';

t.test('pages name only files and folders that exist', (t) => {
  const pages = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' })
    .filter((page) => page.endsWith('.md') && !page.startsWith('reference/'))
    .map((page) => `docs/${page}`);
  // CONTRIBUTING also names the files that its recipes add.
  const added = readFileSync(new URL('CONTRIBUTING.md', root), 'utf8').matchAll(/^\/\/ (\S+\.ts)/gm);
  const inRecipes = new Set([...added].map(([, path]) => path));
  const gone = ['README.md', 'CONTRIBUTING.md', ...pages].flatMap((page) => {
    const text = readFileSync(new URL(page, root), 'utf8');
    const paths = [...text.matchAll(/(?<![\w/.-])(?:pkg|cmd|test|hack|charts|examples)\/[\w./-]*\w/g)].map(
      ([path]) => path,
    );
    return paths
      .filter((path) => path !== ofKubectl && !inRecipes.has(path) && !existsSync(new URL(path, root)))
      .map((path) => `${page}: ${path}`);
  });
  t.same(gone, [], 'paths that do not exist');
  t.end();
});
