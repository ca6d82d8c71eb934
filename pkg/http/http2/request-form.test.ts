/** What Go's HTTP/2 server accepts, answers with 400, or resets (golang.org/x/net/http2 and httpguts). */
import t from 'tap';
import type { HeaderField } from '#http/http2/hpack.js';
import { RequestForm } from '#http/http2/message-form.js';

const pseudo: readonly HeaderField[] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':path', '/'],
  [':authority', 'a.example'],
];

const acceptedRequests: Readonly<Record<string, readonly HeaderField[]>> = {
  'a blank behind a value': [['user-agent', 'abc ']],
  'a blank before a value': [['user-agent', ' abc']],
  'tabs around a value': [['x', '\tabc\t']],
  'nothing but blanks': [['x', '  ']],
  'an empty value': [['x', '']],
  'a tab inside': [['x', 'a\tb']],
  'bytes that are not of ASCII': [['x', 'caf\xc3\xa9 \xff']],
  'punctuation of tokens': [["!#$%&'*+-.^_`|~09az", 'x']],
  'a host beside the authority': [['host', 'b.example']],
  trailers: [['te', 'trailers']],
  'an empty te': [['te', '']],
  'a length that is none': [['content-length', 'abc']],
  'a length with blanks': [['content-length', ' 5 ']],
  'a negative length': [['content-length', '-1']],
  'a length beyond 64 bits': [['content-length', '99999999999999999999']],
  'two lengths': [
    ['content-length', '0'],
    ['content-length', '7'],
  ],
  'several cookies': [
    ['cookie', 'a=1'],
    ['cookie', 'b=2'],
  ],
};

const answered: Readonly<Record<string, readonly [fields: readonly HeaderField[], reason: string]>> = {
  connection: [[['connection', 'close']], 'request header "Connection" is not valid in HTTP/2'],
  'keep-alive': [[['keep-alive', '5']], 'request header "Keep-Alive" is not valid in HTTP/2'],
  'proxy-connection': [[['proxy-connection', 'x']], 'request header "Proxy-Connection" is not valid in HTTP/2'],
  'transfer-encoding': [[['transfer-encoding', 'x']], 'request header "Transfer-Encoding" is not valid in HTTP/2'],
  upgrade: [[['upgrade', 'h2c']], 'request header "Upgrade" is not valid in HTTP/2'],
  'te with more': [[['te', 'trailers, gzip']], 'request header "TE" may only be "trailers" in HTTP/2'],
  'te twice': [
    [
      ['te', 'trailers'],
      ['te', 'trailers'],
    ],
    'request header "TE" may only be "trailers" in HTTP/2',
  ],
};

const reset: Readonly<Record<string, readonly HeaderField[]>> = {
  'a capital': [['X-a', 'b']],
  'an empty name': [['', 'b']],
  'a blank in a name': [['a b', 'c']],
  'a blank behind a name': [['a ', 'c']],
  'a bracket in a name': [['a(b', 'c']],
  'a name that is not of ASCII': [['\xe9', 'c']],
  'a line end in a value': [['x', 'a\r\nb']],
  'a null byte in a value': [['x', 'a\0b']],
  'a control character in a value': [['x', 'a\x01b']],
  'delete in a value': [['x', 'a\x7fb']],
};

t.test('valid headers are accepted', async (t) => {
  for (const [name, fields] of Object.entries(acceptedRequests)) {
    const form = new RequestForm();
    t.type(form.head([...pseudo, ...fields], true), 'object', name);
    t.equal(form.invalid, undefined, name);
  }
});

t.test('some invalid headers are answered with 400', async (t) => {
  for (const [name, [fields, reason]] of Object.entries(answered)) {
    const form = new RequestForm();
    t.type(form.head([...pseudo, ...fields], true), 'object', name);
    t.equal(form.invalid, reason, name);
  }
});

t.test('other invalid headers reset the stream', async (t) => {
  for (const [name, fields] of Object.entries(reset))
    t.type(new RequestForm().head([...pseudo, ...fields], true), 'string', name);
});

t.test('an invalid content-length counts as zero', async (t) => {
  const form = new RequestForm();
  form.head([...pseudo, ['content-length', 'abc']], false);
  t.equal(form.length, 0);
  t.type(form.data(1), 'string');
  const empty = new RequestForm();
  t.type(empty.head([...pseudo, ['content-length', '5']], true), 'object', 'a request without a body ends well');
  t.equal(empty.length, 0);
});
