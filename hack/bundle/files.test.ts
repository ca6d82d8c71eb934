import t from 'tap';
import { filesOf, outdated } from './files.js';

const day = 24 * 60 * 60_000;

t.test('the files of a build are what it has written', async (t) => {
  const chunk = 'dist/bundle/chunks/a-1.js';
  const programs = ['orch', 'orchctl'].map((name) => ({
    outputs: { [`dist/bundle/${name}/main.js`]: {}, [chunk]: {} },
  }));
  t.same(filesOf(programs, ['dist/bundle/proto/rpc.proto', chunk]), [
    chunk,
    'dist/bundle/orch/main.js',
    'dist/bundle/orchctl/main.js',
    'dist/bundle/proto/rpc.proto',
  ]);
});

t.test('what a program may still load stays', async (t) => {
  const present = [
    { path: 'unchanged for long', usedMs: 0 },
    { path: 'replaced today', usedMs: 9.5 * day },
    { path: 'replaced long ago', usedMs: 8.9 * day },
  ];
  t.same(outdated(present, ['unchanged for long'], 10 * day), ['replaced long ago']);
});
