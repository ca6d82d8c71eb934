import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { type Negotiated, negotiate, type Transform } from '#apiserver/http/content-negotiation.js';

const formats = ['json', 'yaml', 'protobuf'] as const;
const transforms = ['Table', 'PartialObjectMetadata'] as const;
const hasProtobuf = ({ kind }: Transform) => kind !== 'Table';

function ask(accept: string | undefined, more: { pretty?: string; userAgent?: string } = {}): Negotiated {
  const { pretty = null, userAgent } = more;
  return negotiate({ dialect: kubernetesDialect, accept, formats, transforms, hasProtobuf, pretty, userAgent });
}

const table = (version: string) => ({ kind: 'Table', group: 'meta.k8s.io', version });

t.test('Accept headers', async (t) => {
  const rows: [string | undefined, Partial<Negotiated>][] = [
    [undefined, { format: 'json' }],
    ['*/*', { format: 'json' }],
    ['application/*', { format: 'json' }],
    ['application/yaml', { format: 'yaml' }],
    ['application/vnd.kubernetes.protobuf, application/json', { format: 'protobuf' }],
    ['application/vnd.kubernetes.protobuf;q=0.5, application/json', { format: 'json' }],
    ['text/html, application/json', { format: 'json' }],
    [
      'application/json;as=Table;v=v1;g=meta.k8s.io, application/json',
      { format: 'json', transform: table('v1') } as never,
    ],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', { format: 'json', transform: table('v1beta1') } as never],
    ['application/json;as=Table;v=v2;g=meta.k8s.io, application/json', { format: 'json' }],
    ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, application/json', { format: 'json' }],
    [
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io, application/json',
      { format: 'protobuf' },
    ],
    ['application/json;as=Unknown;v=v1;g=meta.k8s.io, application/yaml', { format: 'yaml' }],
  ];
  for (const [accept, expected] of rows) t.match(ask(accept), expected, String(accept));
  for (const accept of ['text/html', 'application/json;as=Table;v=v1;g=other.example', 'application/xml, text/*']) {
    t.throws(() => ask(accept), { code: 406 }, accept);
  }
});

t.test('custom objects have a Protobuf form of their metadata only', async (t) => {
  const options = { dialect: kubernetesDialect, hasProtobuf, pretty: null, userAgent: undefined };
  const custom = (accept: string) => negotiate({ ...options, formats: ['json', 'yaml'], transforms, accept });
  const type = 'application/vnd.kubernetes.protobuf';
  t.match(custom(`${type};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`), { format: 'protobuf' });
  t.match(custom(`${type};as=Table;g=meta.k8s.io;v=v1, application/json`), { format: 'json' });
  t.match(custom(`${type}, application/yaml`), { format: 'yaml' });
  const message = `only the following media types are accepted: application/json, application/yaml, ${type}`;
  t.throws(() => custom(type), { code: 406, message });
});

t.test('browsers and curl get indented responses by default', async (t) => {
  t.equal(ask('application/json', { userAgent: 'curl/8' }).pretty, true);
  t.equal(ask('application/json', { userAgent: 'curl/8', pretty: 'false' }).pretty, false);
  t.equal(ask('application/json', { userAgent: 'client' }).pretty, false);
  t.equal(ask('application/json', { pretty: 'true' }).pretty, true);
});

t.test('each dialect accepts the meta groups of both dialects', async (t) => {
  const options = { dialect: orchDialect, formats, transforms, hasProtobuf, pretty: null, userAgent: undefined };
  for (const group of ['meta.orch.io', 'meta.k8s.io']) {
    const answer = negotiate({ ...options, accept: `application/json;as=Table;v=v1;g=${group}` });
    t.match(answer.transform, { kind: 'Table', group });
  }
});
