import t from 'tap';
import type { DocumentV2 } from '#apiserver/openapi/documents.js';
import { encodeDocumentV2 } from '#apiserver/openapi/protobuf-v2.js';

t.test('a document has any number of parts', async (t) => {
  const definition = { description: 'd', type: 'object', properties: { a: { type: 'string' } } };
  const count = 50_000;
  const document: DocumentV2 = {
    swagger: '2.0',
    info: { title: 't', version: 'v' },
    paths: {},
    definitions: Object.fromEntries(Array.from({ length: count }, (_, i) => [`d${i}`, definition])),
  };
  const bytes = encodeDocumentV2(document);
  t.ok(bytes.length > count * 20, 'all definitions are in it');
});
