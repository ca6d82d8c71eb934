import t from 'tap';
import { matchesRegistry, matchingEntries, registryKey, repositoryOf } from '#nodeagent/images/registry-match.js';

t.test('images are matched by full name without tag and digest', async (t) => {
  for (const [image, repository] of [
    ['busybox', 'docker.io/library/busybox'],
    ['busybox:1.36', 'docker.io/library/busybox'],
    ['docker.io/busybox', 'docker.io/library/busybox'],
    ['index.docker.io/team/app', 'docker.io/team/app'],
    ['team/app:1@sha256:abc', 'docker.io/team/app'],
    ['localhost/app:1', 'localhost/app'],
    ['example.com:5000/a/b:1', 'example.com:5000/a/b'],
    ['example.com:5000/a/b', 'example.com:5000/a/b'],
  ] as const) {
    t.equal(repositoryOf(image), repository, image);
  }
});

t.test('prefixes and suffixes written by old clients are stripped from keys', async (t) => {
  t.equal(registryKey('https://index.docker.io/v1/'), 'index.docker.io');
  t.equal(registryKey('http://example.com/v2/team'), 'example.com/team');
  t.equal(registryKey('example.com:5000/'), 'example.com:5000');
  t.equal(registryKey('example.com/v10/team'), 'example.com/v10/team');
});

t.test('domain parts, port and path are matched', async (t) => {
  for (const [key, repository, fits] of [
    ['example.com', 'example.com/app', true],
    ['*.example.com', 'eu.example.com/app', true],
    ['*.example.com', 'example.com/app', false],
    ['*.example.com', 'a.b.example.com/app', false],
    ['*.*.example.com', 'a.b.example.com/app', true],
    ['app*.example.com', 'app7.example.com/x', true],
    ['app*.example.com', 'web7.example.com/x', false],
    ['example.*', 'example.org/x', true],
    ['exam?le.com', 'example.com/x', true],
    ['example.com:5000', 'example.com:5000/app', true],
    ['example.com', 'example.com:5000/app', false],
    ['example.com:5000', 'example.com/app', false],
    ['example.com/team', 'example.com/team/app', true],
    ['example.com/team', 'example.com/other/app', false],
    ['example.com/*/app', 'example.com/team/app', false],
  ] as const) {
    t.equal(matchesRegistry(key, repository), fits, `${key} for ${repository}`);
  }
  const hostile = `${'*a'.repeat(5000)}*b.com`;
  t.equal(matchesRegistry(hostile, `${'a'.repeat(400)}.com/app`), false);
});

t.test('longer paths come first, and aliases of the default registry last', async (t) => {
  const entry = (key: string, value = key) => ({ key, value });
  const entries = [entry('example.com', 'a'), entry('example.com/team', 'b'), entry('example.com', 'c')];
  t.same(matchingEntries(entries, 'example.com/team/app'), ['b', 'a', 'c']);
  t.same(matchingEntries([entry('index.docker.io')], 'docker.io/library/busybox'), ['index.docker.io']);
  const both = [entry('index.docker.io'), entry('docker.io')];
  t.same(matchingEntries(both, 'docker.io/library/busybox'), ['docker.io']);
  t.same(matchingEntries(both, 'example.com/app'), []);
});
