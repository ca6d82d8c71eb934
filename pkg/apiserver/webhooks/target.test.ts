import t from 'tap';
import { targetOf } from '#apiserver/webhooks/target.js';

t.test('paths are normalized like in Go', (t) => {
  const rows: readonly (readonly [given: string, sent: string])[] = [
    ['', '/'],
    ['/', '/'],
    ['/check', '/check'],
    // The form of controller-runtime's envtest for a path with a slash.
    ['//failing', '/failing'],
    ['/a//b/', '/a/b'],
    ['/a/./b/../c', '/a/c'],
    ['/a%20b', '/a%20b'],
    ['/a%2Fb', '/a/b'],
    ['/a?b=c', '/a'],
    ["/v1:check@x;y=1,z&$+!'()*~", '/v1:check@x;y=1,z&$+%21%27%28%29%2A~'],
    ['/ä', '/%C3%A4'],
  ];
  for (const [given, sent] of rows) {
    const { path, url } = targetOf({ url: `https://127.0.0.1:8443${given}` });
    t.equal(path, sent, given);
    t.equal(url, `https://127.0.0.1:8443${sent}`, given);
  }
  for (const [given, sent] of [
    ['validate', '/validate'],
    ['//validate/', '/validate'],
    ['/a?b%', '/a%3Fb%25'],
  ] as const) {
    t.equal(targetOf({ service: { namespace: 'a', name: 'b', path: given } }).path, sent, given);
  }
  t.throws(() => targetOf({ url: 'https://127.0.0.1/%zz' }), { message: /Unparsable URL/ });
  t.end();
});
