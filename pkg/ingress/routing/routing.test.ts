/** Tables of Ingress rules: routes, ownership and problems. */
import t from 'tap';
import type { Secret, Service } from '#api/core/v1/types.gen.js';
import type { Ingress, IngressClass, IngressSpec } from '#api/networking/v1/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { planRoutes } from '#ingress/routing/plan.js';
import { requestTarget } from '#ingress/routing/request-path.js';

const classes: IngressClass[] = [
  { metadata: { name: 'own' }, spec: { controller: dialect.ingress.controller } },
  { metadata: { name: 'other' }, spec: { controller: 'example.com/other' } },
];

let sequence = 0;

function ingress(name: string, spec: object, annotations: Record<string, string> = {}): Ingress {
  sequence += 1;
  const creationTimestamp = new Date(Date.UTC(2024, 0, 1) + sequence * 1000).toISOString();
  const metadata = { name, namespace: 'default', uid: name, creationTimestamp, annotations };
  return { metadata, spec: { ingressClassName: 'own', ...spec } as IngressSpec };
}

const to = (name: string, port: object = { number: 80 }) => ({ service: { name, port } });

function rule(host: string, ...paths: [pathType: string, path: string, service: string][]) {
  return {
    ...(host === '' ? {} : { host }),
    http: { paths: paths.map(([pathType, path, service]) => ({ pathType, path, backend: to(service) })) },
  };
}

const service = (name: string): Service =>
  ({
    metadata: { name, namespace: 'default' },
    spec: { type: name === 'away' ? 'ExternalName' : 'ClusterIP', ports: [{ name: 'web', port: 80 }] },
  }) as Service;

function plan(all: readonly Ingress[], own: readonly IngressClass[] = classes) {
  return planRoutes({
    dialect,
    ingresses: all,
    classes: own,
    service: (key) => (key.includes('missing') ? undefined : service(key.split('/')[1] ?? '')),
    secret: (key) => (key.includes('missing') ? undefined : ({ metadata: { name: key.split('/')[1] } } as Secret)),
    whyUnusable: ({ metadata }) => (metadata.name === 'broken' ? 'it is broken' : undefined),
  });
}

/** Name of the service that a request is routed to; `-`: no rule matches. */
function target(planned: ReturnType<typeof plan>, url: string): string {
  const [host = '', ...rest] = url.split('/');
  const path = requestTarget(`/${rest.join('/')}`)?.path ?? '';
  const route = planned.routes.find(host, path);
  return route === undefined ? '-' : (route.backend?.service.split('/')[1] ?? '?');
}

t.test('paths are compared as the API specifies', async (t) => {
  // The table of Ingress's documentation, and cases that it leaves open.
  const rows: [rules: [string, string][], path: string, matched: string | undefined][] = [
    [[['Prefix', '/']], '/any/path', '/'],
    [[['Exact', '/foo']], '/foo', '/foo'],
    [[['Exact', '/foo']], '/bar', undefined],
    [[['Exact', '/foo']], '/foo/', undefined],
    [[['Exact', '/foo/']], '/foo', undefined],
    [[['Exact', '/foo']], '/FOO', undefined],
    [[['Prefix', '/foo']], '/foo', '/foo'],
    [[['Prefix', '/foo']], '/foo/', '/foo'],
    [[['Prefix', '/foo/']], '/foo', '/foo/'],
    [[['Prefix', '/foo/']], '/foo/', '/foo/'],
    [[['Prefix', '/aaa/bb']], '/aaa/bbb', undefined],
    [[['Prefix', '/aaa/bbb']], '/aaa/bbb', '/aaa/bbb'],
    [[['Prefix', '/aaa/bbb/']], '/aaa/bbb', '/aaa/bbb/'],
    [[['Prefix', '/aaa/bbb']], '/aaa/bbb/', '/aaa/bbb'],
    [[['Prefix', '/aaa/bbb']], '/aaa/bbb/ccc', '/aaa/bbb'],
    [[['Prefix', '/aaa/bbb']], '/aaa/bbbxyz', undefined],
    [
      [
        ['Prefix', '/'],
        ['Prefix', '/aaa'],
      ],
      '/aaa/ccc',
      '/aaa',
    ],
    [
      [
        ['Prefix', '/'],
        ['Prefix', '/aaa'],
        ['Prefix', '/aaa/bbb'],
      ],
      '/aaa/bbb',
      '/aaa/bbb',
    ],
    [
      [
        ['Prefix', '/'],
        ['Prefix', '/aaa'],
      ],
      '/ccc',
      '/',
    ],
    [[['Prefix', '/aaa']], '/ccc', undefined],
    [
      [
        ['Prefix', '/foo'],
        ['Exact', '/foo'],
      ],
      '/foo',
      'Exact /foo',
    ],
    [
      [
        ['Prefix', '/foo'],
        ['Exact', '/foo'],
      ],
      '/foo/bar',
      '/foo',
    ],
    [[['ImplementationSpecific', '/foo']], '/foo/bar', '/foo'],
    [[['ImplementationSpecific', '']], '/foo/bar', ''],
    // Encoded or with dot segments: the same path.
    [[['Prefix', '/caf\u00e9']], '/caf%C3%A9/menu', '/caf\u00e9'],
    [[['Prefix', '/admin']], '/public/../admin', '/admin'],
    [[['Prefix', '/admin']], '/public/%2e%2E/admin/x', '/admin'],
    [[['Prefix', '/admin']], '/./%61dmin', '/admin'],
    [[['Prefix', '/public']], '/public/..%2fadmin', '/public'],
    [[['Prefix', '/public']], '/public/%zz', '/public'],
  ];
  for (const [rules, path, matched] of rows) {
    const name = (index: number) => `s${index}`;
    const own = ingress('paths', {
      rules: [rule('', ...rules.map(([type, text], i): [string, string, string] => [type, text, name(i)]))],
    });
    const index = rules.findIndex(([type, text]) => text === matched || `${type} ${text}` === matched);
    t.equal(target(plan([own]), path), index < 0 ? '-' : name(index), `${JSON.stringify(rules)} ${path}`);
  }
});

t.test('backends get a normalized path', async (t) => {
  const rows: [url: string, target: string | undefined][] = [
    ['/a/b?c=/../d', '/a/b?c=/../d'],
    ['/a/./b/../c/', '/a/c/'],
    ['/a/%2E%2e/b', '/b'],
    ['/../../etc', '/etc'],
    ['/a/..', '/'],
    ['/a/b/..', '/a/'],
    ['/a%2Fb//c', '/a%2Fb//c'],
    ['*', undefined],
    ['/a#b', undefined],
  ];
  for (const [url, expected] of rows) t.equal(requestTarget(url)?.target, expected, url);
});

t.test('an exact host precedes a wildcard, which stands for one label', async (t) => {
  const planned = plan([
    ingress('hosts', {
      rules: [
        rule('Example.com', ['Prefix', '/', 'exact'], ['Prefix', '/deep', 'deep']),
        rule('*.example.com', ['Prefix', '/', 'wild']),
        rule('one.example.com', ['Prefix', '/only', 'one']),
        rule('', ['Prefix', '/everywhere', 'all']),
      ],
    }),
  ]);
  const rows: [url: string, service: string][] = [
    ['example.com/', 'exact'],
    ['example.com/deep/er', 'deep'],
    ['a.example.com/', 'wild'],
    ['a.b.example.com/', '-'],
    ['a.b.example.com/everywhere', 'all'],
    ['one.example.com/only', 'one'],
    ['one.example.com/', 'wild'],
    ['.example.com/', '-'],
    ['other.org/', '-'],
    ['/everywhere', 'all'],
  ];
  for (const [url, expected] of rows) t.equal(target(planned, url), expected, url);
});

t.test('a default backend gets the requests that no path matches', async (t) => {
  const rest = (host: string, name: string) =>
    ingress(name, { defaultBackend: to(name), rules: [rule(host, ['Prefix', '/a', 'a'])] });
  const rows: [ingresses: Ingress[], url: string, service: string][] = [
    [[ingress('d', { defaultBackend: to('d') })], 'example.com/x', 'd'],
    [[ingress('d', { defaultBackend: to('d') }), ingress('e', { defaultBackend: to('e') })], 'example.com/', 'd'],
    [[rest('example.com', 'd')], 'example.com/a', 'a'],
    [[rest('example.com', 'd')], 'example.com/b', 'd'],
    [[rest('example.com', 'd')], 'other.org/b', '-'],
    [[rest('', 'd')], 'other.org/b', 'd'],
    [[rest('example.com', 'd'), ingress('e', { defaultBackend: to('e') })], 'other.org/', 'e'],
  ];
  for (const [ingresses, url, expected] of rows) t.equal(target(plan(ingresses), url), expected, url);
});

t.test('only Ingresses of own or default classes are served', async (t) => {
  const { classAnnotation, defaultClassAnnotation } = dialect.ingress;
  const standard = [
    { metadata: { name: 'own', annotations: { [defaultClassAnnotation]: 'true' } }, spec: classes[0]?.spec ?? {} },
  ];
  const rows: [
    why: string,
    spec: object,
    annotations: Record<string, string>,
    classes: IngressClass[],
    own: boolean,
  ][] = [
    ['of its class', {}, {}, classes, true],
    ['of another class', { ingressClassName: 'other' }, {}, classes, false],
    ['of a class that is not there', { ingressClassName: 'none' }, {}, classes, false],
    ['of none', { ingressClassName: undefined }, {}, classes, false],
    ['of none where its class is the default', { ingressClassName: undefined }, {}, standard, true],
    ['by the annotation', { ingressClassName: undefined }, { [classAnnotation]: 'own' }, classes, true],
    ['by the annotation another', { ingressClassName: undefined }, { [classAnnotation]: 'nginx' }, standard, false],
  ];
  for (const [why, spec, annotations, of, expected] of rows) {
    const own = ingress('i', { ...spec, defaultBackend: to('s') }, annotations);
    t.equal(plan([own], of).ingresses.length === 1, expected, why);
  }
});

t.test('the older Ingress wins a conflict', async (t) => {
  const first = ingress('first', { rules: [rule('example.com', ['Prefix', '/a', 'first'])] });
  const second = ingress('second', { rules: [rule('example.com', ['Prefix', '/a/', 'second'])] });
  const planned = plan([second, first]);
  t.equal(target(planned, 'example.com/a'), 'first');
  t.match(planned.problems, [
    {
      ingress: second,
      reason: 'RuleShadowed',
      message: 'another rule has Prefix path /a/ of host example.com already',
    },
  ]);
});

t.test('certificates', async (t) => {
  const tls = (hosts: string[] | undefined, secretName?: string) => ({ hosts, secretName });
  const planned = plan([
    ingress('certified', {
      tls: [tls(['A.example.com', '*.wild.com'], 'first'), tls(['b.example.com'], 'missing'), tls(['c.com'], 'broken')],
      rules: ['a.example.com', 'x.wild.com', 'b.example.com', 'plain.org'].map((host) =>
        rule(host, ['Prefix', '/', 's']),
      ),
    }),
    ingress('all', { tls: [tls(undefined, 'second')], rules: [rule('own.org', ['Prefix', '/', 's'])] }),
    ingress('late', { tls: [tls(['a.example.com'], 'third')], defaultBackend: to('s') }),
    ingress('nameless', { tls: [tls(['d.com'])], defaultBackend: to('s') }),
  ]);
  const names = Object.fromEntries([...planned.certificates].map(([host, { metadata }]) => [host, metadata.name]));
  t.same(names, { 'a.example.com': 'first', '*.wild.com': 'first', 'own.org': 'second' });
  const isSecure = (host: string) => planned.routes.find(host, '/')?.isSecure;
  for (const host of ['a.example.com', 'x.wild.com', 'b.example.com', 'own.org']) t.equal(isSecure(host), true, host);
  t.equal(isSecure('plain.org'), false);
  t.match(planned.problems, [
    {
      reason: 'CertificateNotFound',
      message: 'there is no secret missing of type kubernetes.io/tls in this namespace',
    },
    { reason: 'CertificateInvalid', message: 'secret broken: it is broken' },
  ]);
  t.same(planned.secrets, new Set(['first', 'missing', 'broken', 'second', 'third'].map((name) => `default/${name}`)));
});

t.test('backends', async (t) => {
  const rows: [backend: object, backendName: string | undefined, message?: string][] = [
    [to('s', { number: 80 }), 'web'],
    [to('s', { name: 'web' }), 'web'],
    [to('s', { number: 81 }), undefined, 'service s has no port 81; it has web (80)'],
    [to('s', { name: 'api' }), undefined, 'service s has no port api; it has web (80)'],
    [to('missing'), undefined, 'there is no service missing in this namespace'],
    [to('away'), undefined, 'service away is an ExternalName, which has no endpoints'],
    [{ resource: { kind: 'Bucket', name: 'b' } }, undefined, 'Bucket b: only services can be backends'],
  ];
  for (const [backend, portName, message] of rows) {
    const planned = plan([ingress('i', { defaultBackend: backend })]);
    t.equal(planned.routes.find('example.com', '/')?.backend?.portName, portName, JSON.stringify(backend));
    t.equal(planned.problems[0]?.message, message);
  }
});

t.test('a problem names some ports of a service with thousands, and an Ingress has so many problems', async (t) => {
  const ports = Array.from({ length: 5000 }, (_, i) => ({ name: `p${i}`, port: i + 1 }));
  const paths = Array.from({ length: 5000 }, (_, i) => ({
    path: `/${i}`,
    pathType: 'Exact',
    backend: to('s', { number: 9 }),
  }));
  const many = { metadata: { name: 's', namespace: 'default' }, spec: { ports: ports.slice(9) } } as Service;
  const planned = planRoutes({
    ...{
      dialect,
      classes,
      ingresses: [
        ingress('i', { rules: [{ http: { paths } }] }),
        ingress('j', { defaultBackend: to('s', { number: 9 }) }),
      ],
    },
    ...{ service: () => many, secret: () => undefined, whyUnusable: () => undefined },
  });
  const [first] = planned.problems;
  t.match(first?.message, /^service s has no port 9; it has p9 \(10\), .*p18 \(19\), and 4981 more$/);
  t.equal(
    planned.problems.filter((problem) => problem.ingress.metadata.name === 'i').length,
    50,
    'problems of the first',
  );
  t.equal(planned.problems.length, 51, 'problems of both');
});

t.test('TLS entries for all rules are considered once, not for each rule', async (t) => {
  let reads = 0;
  const host = (name: string) => ({
    get host() {
      reads += 1;
      return name;
    },
  });
  const rules = Array.from({ length: 100 }, (_, i) => host(`h${i}.example.com`));
  const tls = [
    ...Array.from({ length: 100 }, () => ({})),
    { secretName: 'broken' },
    ...Array.from({ length: 100 }, () => ({ secretName: 's' })),
  ];
  const planned = plan([ingress('i', { tls, rules, defaultBackend: to('s') })]);
  t.equal(planned.certificates.size, 100, 'each host has the first usable certificate');
  t.equal(planned.certificates.get('h7.example.com')?.metadata.name, 's');
  t.equal(planned.routes.find('h7.example.com', '/')?.isSecure, true);
  t.ok(reads < 1000, `rules are read ${reads} times`);
});

t.test('thousands of segments cost no more than the depth of the rules', async (t) => {
  const planned = plan([ingress('i', { rules: [rule('', ['Prefix', '/a/b', 's'])] })]);
  t.equal(target(planned, `/a/b${'/x'.repeat(10_000)}`), 's');
  t.equal(target(planned, '/'.repeat(10_000)), '-');
  const paths = Array.from({ length: 4 }, (_, i) => `${'/a'.repeat(10_000 + i)}`);
  const deep = plan([
    ingress('i', {
      rules: [
        rule('', ...paths.map((path): [string, string, string] => ['Prefix', path, 's']), ['Prefix', '/a', 'rest']),
      ],
    }),
  ]);
  const short = Buffer.from('/a'.repeat(9_000)).toString();
  // A search that compared every prefix of the path would read a billion characters.
  for (let i = 0; i < 50; i += 1) t.equal(target(deep, `${short}/${i}`), 'rest', 'the longest prefix that matches');
  t.equal(target(deep, `${paths[2]}/x`), 's', 'a rule of thousands of segments');
});
