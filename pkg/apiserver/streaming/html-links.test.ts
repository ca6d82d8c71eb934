import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { LinkRewriter, rewriteLink } from '#apiserver/streaming/html-links.js';

const context = { prefix: '/api/v1/namespaces/d/pods/p/proxy', hosts: ['10.0.0.1:80', 'Example.test'] };
const p = context.prefix;

async function rewritten(page: string, step = page.length, from = context): Promise<string> {
  const rewriter = new LinkRewriter(from);
  const bytes = Buffer.from(page, 'latin1');
  for (let at = 0; at < bytes.length; at += Math.max(1, step)) rewriter.write(bytes.subarray(at, at + step));
  rewriter.end();
  return (await buffer(rewriter)).toString('latin1');
}

t.test('links are rewritten', (t) => {
  const own = { prefix: p, hosts: ['10.0.0.1:80', 'example.test'] };
  const rows: [string, string][] = [
    ['/a', `${p}/a`],
    ['/', `${p}/`],
    ['/a/?x=/y#/z', `${p}/a/?x=/y#/z`],
    [`${p}/a`, `${p}/a`],
    ['a/b', 'a/b'],
    ['', ''],
    ['?x', '?x'],
    ['#x', '#x'],
    ['mailto:a@b', 'mailto:a@b'],
    ['javascript:go("/x")', 'javascript:go("/x")'],
    ['data:text/html,/x', 'data:text/html,/x'],
    ['http://elsewhere.test/a', 'http://elsewhere.test/a'],
    ['//elsewhere.test/a', '//elsewhere.test/a'],
    ['http://10.0.0.1:80/a', `${p}/a`],
    ['https://EXAMPLE.test/a?b', `${p}/a?b`],
    ['//example.test/a', `${p}/a`],
    ['http://example.test', 'http://example.test'],
    [`http://example.test${p}/a`, `${p}/a`],
  ];
  for (const [link, want] of rows) t.equal(rewriteLink(link, own), want, link);
  t.end();
});

t.test('pages are rewritten in chunks of any size', async (t) => {
  const rows: [page: string, want: string][] = [
    ['<a href="/x">/x</a>', `<a href="${p}/x">/x</a>`],
    ["<A HREF='/x' href2='/y'>", `<A HREF='${p}/x' href2='/y'>`],
    ['<img src=/x.png alt=/y>', `<img src=${p}/x.png alt=/y>`],
    ['<img src=/x.png/>', `<img src=${p}/x.png/>`],
    ['<form action = "/go"><button formaction="/b">', `<form action = "${p}/go"><button formaction="${p}/b">`],
    ['<p href="/x" src=/y>', '<p href="/x" src=/y>'],
    ['<a\r\n\thref="/x"\n>', `<a\r\n\thref="${p}/x"\n>`],
    [
      '<script src="/s.js">var a = "<a href=\'/x\'>";</script>',
      `<script src="${p}/s.js">var a = "<a href='/x'>";</script>`,
    ],
    ['<!-- <a href="/x"> --><a href="/y">', `<!-- <a href="/x"> --><a href="${p}/y">`],
    ['<textarea><a href="/x"></textarea>', '<textarea><a href="/x"></textarea>'],
    ['<a href="">&amp;\u00e4\u0000<a href>', '<a href="">&amp;\u00e4\u0000<a href>'],
    ['<a href="/x', '<a href="/x'],
    ['<video poster="/p" src="http://10.0.0.1:80/v">', `<video poster="${p}/p" src="${p}/v">`],
    [`<a ${'x'.repeat(100)}="/y" href="/z">`, `<a ${'x'.repeat(100)}="/y" href="${p}/z">`],
    [`<a href="/${'x'.repeat(20_000)}"><a href="/z">`, `<a href="/${'x'.repeat(20_000)}"><a href="${p}/z">`],
  ];
  for (const [page, want] of rows) {
    const steps = page.length > 1000 ? [1000] : [page.length, 1, 2, 3, 7];
    for (const step of steps) t.equal(await rewritten(page, step), want, `${page.slice(0, 60)} by ${step}`);
  }
  const quoted = { prefix: `/a"'<b`, hosts: [] };
  t.equal(await rewritten('<a href="/x">', 3, quoted), '<a href="/a%22%27%3cb/x">');
});
