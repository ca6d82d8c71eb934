import t from 'tap';
import { imageTag, pullPolicyOf } from '#api/core/v1/pod/defaults.js';

const sha256 = `sha256:${'0123456789abcdef'.repeat(4)}`;

t.test('tags of images', (t) => {
  const rows: readonly (readonly [image: string, tag: string])[] = [
    ['web', 'latest'],
    ['web:1.0', '1.0'],
    ['team/web', 'latest'],
    ['example.com/web:latest', 'latest'],
    ['example.com:5000/team/web', 'latest'],
    ['example.com:5000/team/web:v2', 'v2'],
    ['localhost/web', 'latest'],
    ['Example.com/web', 'latest'],
    ['a__b.c-d---e', 'latest'],
    [`web@${sha256}`, ''],
    [`web:1.0@${sha256}`, '1.0'],
    [`web:latest@${sha256}`, 'latest'],
    // Invalid image names.
    ['', ''],
    ['Web', ''],
    ['team/Web', ''],
    ['example.com/Team/web', ''],
    ['web:', ''],
    ['web:-1', ''],
    [`web:${'a'.repeat(129)}`, ''],
    ['web/', ''],
    ['/web', ''],
    ['a//b', ''],
    ['a..b', ''],
    ['a___b', ''],
    ['-a', ''],
    ['web latest', ''],
    ['https://example.com/web', ''],
    ['web@sha256:abc', ''],
    [`web@md5:${'0'.repeat(32)}`, ''],
    [`web@${sha256.toUpperCase()}`, ''],
    ['0123456789abcdef'.repeat(4), ''],
    [`${'a'.repeat(256)}`, ''],
  ];
  for (const [image, tag] of rows) t.equal(imageTag(image), tag, image.slice(0, 80));
  t.end();
});

t.test('default pull policies', (t) => {
  t.equal(pullPolicyOf('web'), 'Always');
  t.equal(pullPolicyOf('web:1'), 'IfNotPresent');
  t.equal(pullPolicyOf(`web@${sha256}`), 'IfNotPresent');
  t.equal(pullPolicyOf('Web!'), 'IfNotPresent', 'no image');
  t.end();
});
