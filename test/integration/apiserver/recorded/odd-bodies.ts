/** Bodies that are not objects, whose kind is absent or wrong, or that repeat members. */
import type { Case, Step } from '#test/integration/apiserver/recorded/step.js';

const configmaps = '/api/v1/namespaces/default/configmaps';
/** Without quotas, which other cases create. */
const pods = '/api/v1/namespaces/odd-bodies/pods';
const services = '/api/v1/namespaces/default/services';
const widgets = '/apis/odd.example.com/v1/namespaces/default/widgets';
const dryRun = '?dryRun=All&fieldManager=z';

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.odd.example.com' },
  spec: {
    group: 'odd.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

const nothing = ['null', '[]', '[1]', '"text"', '5', 'true', '{}', '{"kind":null}'];
const names = [
  '{"kind":5}',
  '{"apiVersion":5,"kind":"ConfigMap"}',
  '{"kind":"Pod"}',
  '{"apiVersion":"v1","kind":"Status"}',
  '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}',
  '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"x"}}',
  '{"kind":"DeleteOptions"}',
  '{"kind":"CreateOptions"}',
  '{"apiVersion":"apps/v1","kind":"DeleteOptions"}',
];
const broken = ['{"a":', '&a [*a]'];
/** For JSON: YAML has a lower limit of levels here. */
const deep = '['.repeat(20_000);

const places = [
  ['POST', `${configmaps}${dryRun}`],
  ['PUT', `${configmaps}/x${dryRun}`],
  ['DELETE', `${configmaps}/none`],
  ['POST', `${widgets}${dryRun}`],
  ['PUT', `${widgets}/x${dryRun}`],
  ['POST', '/api/v1/namespaces/default/pods/x/eviction'],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
  ['POST', '/apis/events.k8s.io/v1/namespaces/default/events'],
  ['POST', '/apis/apiregistration.k8s.io/v1/apiservices'],
  ['POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles'],
] as const;

const container = '"name":"c","image":"i"';
const repeatedInPods = [
  // Objects and maps are merged.
  `"metadata":{"name":"a","labels":{"a":"1","b":"1"}},"metadata":{"labels":{"b":"2","c":"2"}},"spec":{"containers":[{${container}}]}`,
  `"metadata":{"name":"a"},"spec":{"hostname":"h","containers":[{${container}}]},"spec":{"subdomain":"s"}`,
  // Lists are merged by element.
  `"metadata":{"name":"a"},"spec":{"containers":[{${container}},{"name":"d","image":"j"}],"containers":[{"workingDir":"/w"}]}`,
  `"metadata":{"name":"a"},"spec":{"containers":[{${container}}],"containers":[{"workingDir":"/w"},{"name":"d","image":"j"}]}`,
  `"metadata":{"name":"a"},"spec":{"containers":[{${container},"args":["a","b"],"args":["c"],"ports":[{"containerPort":1,"name":"p"}],"ports":[{"containerPort":2}]}]}`,
  // Null unsets lists, maps and pointers only.
  `"metadata":{"name":"a","labels":{"a":"1"},"labels":null},"spec":{"hostname":"h","hostname":null,"containers":[{${container}}]}`,
  `"metadata":{"name":"a"},"spec":{"containers":[{${container}}]},"spec":null`,
  `"metadata":{"name":"a"},"spec":{"containers":[{${container},"securityContext":{"privileged":true},"securityContext":null,"securityContext":{"runAsUser":1}}]}`,
  `"metadata":{"name":"a"},"spec":{"containers":[{${container},"securityContext":{"privileged":true},"securityContext":{"runAsUser":1}}]}`,
  `"metadata":{"name":"a"},"spec":{"containers":[{${container},"resources":{"limits":{"cpu":"1"}},"resources":{"limits":{"memory":"1"}}}]}`,
  `"metadata":{"name":"a"},"spec":{"containers":[null,{${container}}],"containers":[{${container}},null]}`,
  `"metadata":{"name":"a"},"spec":{"activeDeadlineSeconds":5,"activeDeadlineSeconds":null,"hostNetwork":true,"hostNetwork":false,"containers":[{${container}}]}`,
  `"metadata":{"name":"a","annotations":{"x":"1","x":"2"}},"spec":{"containers":[{${container}}]}`,
  `"metadata":{"name":"a"},"spec":{"unknown":{"a":1},"unknown":{"b":1},"containers":[{${container}}]}`,
  `"kind":"Pod","kind":"ConfigMap","metadata":{"name":"a"}`,
  `"metadata":{"name":"a"},"metadata":"x","spec":{"containers":[{${container}}]}`,
];
const repeated: readonly (readonly [string, string])[] = [
  ...repeatedInPods.map((members) => [pods, `{${members}}`] as const),
  [
    services,
    '{"metadata":{"name":"a"},"spec":{"clusterIP":"None","ports":[{"port":1,"port":2,"targetPort":3,"targetPort":"n"}]}}',
  ],
  [
    configmaps,
    '{"metadata":{"name":"a"},"data":{"a":"1"},"data":{"b":"2"},"binaryData":{"c":"AA=="},"binaryData":null}',
  ],
  [configmaps, '{"metadata":{"name":"a"} , "data" : {"a":"1"} , "data" : {"a":null}}'],
  [
    widgets,
    '{"apiVersion":"odd.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"a":1},"spec":{"b":1}}',
  ],
  [
    widgets,
    '{"apiVersion":"odd.example.com/v1","kind":"Widget","metadata":{"name":"a"},"metadata":{"labels":{"a":"b"}}}',
  ],
];

/** The result of repeated members. */
const parts = [['message'], ['metadata', 'labels'], ['metadata', 'annotations'], ['spec'], ['data'], ['binaryData']];

const json = 'application/json';
const yaml = 'application/yaml';

export const oddBodies: Case = {
  name: 'odd-bodies',
  steps: [
    { method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body: definition },
    { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'odd-bodies' } }, parts: [['kind']] },
    { method: 'GET', path: widgets, until: 'WidgetList' },
    ...[json, yaml].flatMap((contentType) =>
      [...nothing, ...names, ...broken].flatMap((body) =>
        places.map(([method, path]): Step => ({ method, path, contentType, body })),
      ),
    ),
    ...places.map(([method, path]): Step => ({ method, path, contentType: json, body: deep })),
    ...repeated.map(([path, body]): Step => ({ method: 'POST', path: `${path}${dryRun}`, body, parts })),
  ],
};
