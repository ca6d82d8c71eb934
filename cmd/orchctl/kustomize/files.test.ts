import t from 'tap';
import { parseRepository } from '#cmd/orchctl/kustomize/files.js';

void t.test('addresses of folders in repositories', async (t) => {
  const rows: readonly (readonly [text: string, expected: object | undefined])[] = [
    ['../base', undefined],
    ['base.git', undefined],
    ['github.com/a/b', { repository: 'https://github.com/a/b.git', path: '' }],
    ['github.com/a/b/deploy/x?ref=v1', { repository: 'https://github.com/a/b.git', path: 'deploy/x', reference: 'v1' }],
    [
      'https://github.com/a/b.git//deploy?ref=v1&timeout=2',
      { repository: 'https://github.com/a/b.git', path: 'deploy', reference: 'v1' },
    ],
    ['git@github.com:a/b.git/deploy', { repository: 'git@github.com:a/b.git', path: 'deploy' }],
    ['ssh://git@host:2222/a/b.git//deploy', { repository: 'ssh://git@host:2222/a/b.git', path: 'deploy' }],
    ['git::https://host/a//b', { repository: 'https://host/a', path: 'b' }],
    ['https://host/a.yaml', undefined],
  ];
  for (const [text, expected] of rows) t.same(parseRepository(text), expected, text);
});
