/** Compares revisions with those of release 1.24, byte by byte. */
import t from 'tap';
import type { PodTemplateSpec } from '#api/core/v1/types.gen.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { goJson } from '#apimachinery/go-json.js';
import { newRevision, revisionData, revisionHash, templateOf } from '#controllers/history/revisions.js';

/** A template with the API server's defaults. */
const template: PodTemplateSpec = {
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [
      {
        name: 'main',
        image: 'example/main:1.0',
        command: ['sh', '-c', 'a && b > c'],
        ports: [{ containerPort: 80, protocol: 'TCP' }],
        env: [{ name: 'A', value: '<1>' }],
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
      },
    ],
    volumes: [
      {
        name: 'v',
        ephemeral: {
          volumeClaimTemplate: {
            metadata: {},
            spec: {
              accessModes: ['ReadWriteOnce'],
              resources: { requests: { storage: '1Gi' } },
              volumeMode: 'Filesystem',
            },
          },
        },
      },
      { name: 'e', emptyDir: {} },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
  },
};

const written =
  '{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"app":"web"}},"spec":' +
  '{"containers":[{"command":["sh","-c","a \\u0026\\u0026 b \\u003e c"],"env":[{"name":"A","value":"\\u003c1\\u003e"}],' +
  '"image":"example/main:1.0","imagePullPolicy":"IfNotPresent","name":"main","ports":[{"containerPort":80,"protocol":"TCP"}],' +
  '"resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],' +
  '"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},' +
  '"terminationGracePeriodSeconds":30,"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{"creationTimestamp":null},' +
  '"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"volumeMode":"Filesystem"}}},"name":"v"},' +
  '{"emptyDir":{},"name":"e"}]}}}}';

t.test('data and name equal those of 1.24', async (t) => {
  const data = revisionData(kubernetesDialect, template);
  t.equal(JSON.stringify(data), JSON.stringify(JSON.parse(written)), 'with members in order');
  t.equal(goJson(data), written);
  const owner = { metadata: { name: 'web', namespace: 'default' } };
  const source = { owner, template, hashLabel: 'controller.kubernetes.io/hash', hashOf: revisionHash };
  t.match(newRevision(kubernetesDialect, source, 1, 0), {
    metadata: { name: 'web-568bb445f8', labels: { app: 'web', 'controller.kubernetes.io/hash': '568bb445f8' } },
  });
});

t.test('data written by 1.24 is read as the same template', async (t) => {
  const revision = { metadata: {}, revision: 1, data: JSON.parse(written) as Record<string, unknown> };
  const { spec, metadata } = templateOf(revision);
  t.strictSame(metadata, { labels: { app: 'web' } });
  t.same(spec?.containers, template.spec?.containers);
  t.same(spec?.volumes?.[1], { name: 'e', emptyDir: {} });
  t.notOk(JSON.stringify(templateOf(revision)).includes('null'));
});
