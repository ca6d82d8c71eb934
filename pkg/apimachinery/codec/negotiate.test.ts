import t from 'tap';
import { bareMediaType, negotiateResponse, requestEncoding } from '#apimachinery/codec/negotiate.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

t.test('the Accept header selects the encoding of a response', async (t) => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const offer = { transforms: ['Table', 'PartialObjectMetadata'] };
  t.match(negotiateResponse(undefined, orchDialect), { encoding: 'json', mediaType: 'application/json' });
  t.equal(negotiateResponse('*/*', orchDialect).encoding, 'json');
  t.equal(negotiateResponse('application/yaml', orchDialect).encoding, 'yaml');
  t.equal(negotiateResponse('application/*;q=0.1, application/yaml;q=0.2', orchDialect).encoding, 'yaml');
  t.equal(negotiateResponse('application/vnd.orch.protobuf,application/json', orchDialect).encoding, 'protobuf');
  t.equal(negotiateResponse('application/vnd.kubernetes.protobuf,application/json', orchDialect).encoding, 'json');
  t.equal(negotiateResponse('application/vnd.kubernetes.protobuf', kubernetesDialect).encoding, 'protobuf');
  t.match(negotiateResponse(`${table},application/json`, orchDialect, offer).as, {
    kind: 'Table',
    group: 'meta.k8s.io',
  });
  t.equal(
    negotiateResponse(`${table},application/json`, orchDialect).as,
    undefined,
    'what cannot be done is passed over',
  );
  t.match(negotiateResponse('application/json;as=Table;v=v1;g=meta.orch.io', orchDialect, offer).as, { version: 'v1' });
  t.equal(negotiateResponse('application/json;stream=watch', orchDialect).stream, 'watch');
  t.equal(negotiateResponse('application/json;pretty=1', orchDialect).pretty, true);
  t.throws(() => negotiateResponse('text/html', orchDialect), { code: 406 });
  t.throws(() => negotiateResponse('application/json;q=0', orchDialect), { code: 406 });
  t.throws(() => negotiateResponse(table, orchDialect), { code: 406 });
  t.throws(() => negotiateResponse('application/yaml', orchDialect, { encodings: ['json'] }), { code: 406 });
});

t.test('the Content-Type header names the encoding of a request', async (t) => {
  t.equal(requestEncoding(undefined, orchDialect), 'json');
  t.equal(requestEncoding('application/json; charset=utf-8', orchDialect), 'json');
  t.equal(requestEncoding('application/vnd.orch.protobuf', orchDialect), 'protobuf');
  t.equal(bareMediaType('Application/JSON; charset=utf-8'), 'application/json');
  t.throws(() => requestEncoding('text/plain', orchDialect), { code: 415 });
});
