import t from 'tap';
import { parseRequestTarget } from '#daemon/serving/request-target.js';

t.test('a path is decoded once and normalized', async (t) => {
  const rows: [target: string, path: string, url: string][] = [
    ['/', '/', '/'],
    ['/?a=/../b', '/', '/?a=/../b'],
    ['/metrics', '/metrics', '/metrics'],
    ['/metrics/', '/metrics/', '/metrics/'],
    ['/met%72ics?x=%2e%2e', '/metrics', '/metrics?x=%2e%2e'],
    ['/exec/a/b/c?command=a%20b&command=?', '/exec/a/b/c', '/exec/a/b/c?command=a%20b&command=?'],
    ['/logs/a:b@c;d=e,f', '/logs/a:b@c;d=e,f', '/logs/a%3Ab%40c%3Bd%3De%2Cf'],
    ['/logs/%C3%A4...', '/logs/ä...', '/logs/%C3%A4...'],
    ['/logs/a%3Fb%23c', '/logs/a?b#c', '/logs/a%3Fb%23c'],
  ];
  for (const [target, path, url] of rows) {
    const parsed = parseRequestTarget('GET', target);
    t.same({ path: parsed.path, url: parsed.url }, { path, url }, target);
    t.equal(`/${parsed.segments.join('/')}`, path === '/' ? '/' : path.replace(/\/$/, ''), target);
    t.equal(parseRequestTarget('GET', parsed.url).path, path, 'a normalized target is parsed to the same result');
  }
});

t.test('ambiguous paths are refused', async (t) => {
  const rows: [target: string, why: RegExp][] = [
    ['', /must be encoded/],
    ['*', /begin with a slash/],
    ['metrics', /begin with a slash/],
    ['https://localhost/metrics', /begin with a slash/],
    ['//localhost/metrics', /empty segments/],
    ['/metrics//', /empty segments/],
    ['//', /empty segments/],
    ['/stats/../exec', /dot segments/],
    ['/stats/..', /dot segments/],
    ['/./stats', /dot segments/],
    ['/stats/%2e%2E/exec', /dot segments/],
    ['/stats/.%2e/exec', /dot segments/],
    ['/stats/%252e%252e/exec', /percent signs/],
    ['/stats%2f..%2fexec', /separators/],
    ['/stats/..\\exec', /separators/],
    ['/stats/..%5cexec', /separators/],
    ['/stats%00', /separators/],
    ['/stats%7f', /separators/],
    ['/stats%c2%85', /separators/],
    ['/stats#/../exec', /fragment/],
    ['/stats?a#b', /fragment/],
    ['/stats/\t../exec', /must be encoded/],
    ['/stats\u00e4', /must be encoded/],
    ['/%zz', /percent-encoding/],
    ['/%c0%ae%c0%ae/exec', /percent-encoding/],
    ['/%', /percent-encoding/],
  ];
  for (const [target, why] of rows)
    t.throws(() => parseRequestTarget('GET', target), { message: why, code: 400 }, target);
});
