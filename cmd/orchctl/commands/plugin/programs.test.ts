import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { pluginFiles, pluginFor } from '#cmd/orchctl/commands/plugin/programs.js';

void t.test('programs in the PATH by the words of a command line', async (t) => {
  const [one, two] = ['one', 'two'].map((name) => join(t.testdir(), name)) as [string, string];
  for (const folder of [one, two]) mkdirSync(folder);
  const write = (path: string, mode: number) => {
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, mode);
  };
  write(join(one, 'kubectl-neat'), 0o755);
  write(join(two, 'orchctl-neat'), 0o755);
  write(join(two, 'kubectl-foo-bar_baz'), 0o755);
  write(join(one, 'kubectl-plain'), 0o644);
  const env = { PATH: [one, join(one, 'missing'), two, one].join(delimiter) };
  const rows: readonly (readonly [line: string, path: string | undefined, args?: readonly string[]])[] = [
    ['neat pod web-0', join(two, 'orchctl-neat'), ['pod', 'web-0']],
    ['foo bar-baz qux --x', join(two, 'kubectl-foo-bar_baz'), ['qux', '--x']],
    ['foo', undefined],
    ['plain', undefined],
    ['../neat', undefined],
    ['--neat', undefined],
  ];
  for (const [line, path, args] of rows) {
    const plugin = pluginFor(line.split(' '), env);
    t.same(plugin, path === undefined ? undefined : { path, args }, line);
  }
  t.same(
    pluginFiles(env).map(({ file, isExecutable }) => `${file} ${isExecutable}`),
    ['kubectl-neat true', 'kubectl-plain false', 'kubectl-foo-bar_baz true', 'orchctl-neat true'],
    'files in the order of the PATH',
  );
});
