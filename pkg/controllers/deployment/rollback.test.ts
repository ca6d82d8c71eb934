import t from 'tap';
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { planRollback } from '#controllers/deployment/rollback.js';

const { rollbackTo, deploymentRevision } = dialect.annotations;

function template(image: string, labels: Record<string, string> = {}) {
  return { metadata: { labels: { app: 'web', ...labels } }, spec: { containers: [{ name: 'c', image }] } };
}

function set(revision: string, image: string, annotations: Record<string, string> = {}): ReplicaSet {
  const labels = { [dialect.labels.podTemplateHash]: revision };
  return {
    metadata: { name: `web-${revision}`, annotations: { [deploymentRevision]: revision, ...annotations } },
    spec: { selector: {}, template: template(image, labels) },
  } as ReplicaSet;
}

function deployment(to: string): Deployment {
  const annotations = { [rollbackTo]: to, [deploymentRevision]: '3', cause: 'edit' };
  return {
    metadata: { name: 'web', annotations },
    spec: { selector: {}, template: template('i:3') },
  } as Deployment;
}

const sets = [set('1', 'i:1', { cause: 'create' }), set('2', 'i:2'), set('3', 'i:3', { cause: 'edit' })];

t.test('the template and the annotations of the revision are restored', async (t) => {
  const plan = planRollback(dialect, deployment('1'), sets);
  t.strictSame(plan?.deployment.spec.template, template('i:1'));
  t.strictSame(plan?.deployment.metadata.annotations, { [deploymentRevision]: '3', cause: 'create' });
  t.strictSame(plan?.event, {
    type: 'Normal',
    reason: 'DeploymentRollback',
    message: 'Rolled back deployment "web" to revision 1',
  });
});

t.test('zero is the second highest revision', async (t) => {
  t.match(planRollback(dialect, deployment('0'), sets)?.event, { message: /to revision 2$/ });
  t.match(planRollback(dialect, deployment('0'), [set('3', 'i:3')])?.event, {
    type: 'Warning',
    reason: 'DeploymentRollbackRevisionNotFound',
    message: 'Unable to find last revision.',
  });
});

t.test('a failed rollback is recorded and its annotation removed', async (t) => {
  const missing = planRollback(dialect, deployment('9'), sets);
  t.match(missing?.event, { message: 'Unable to find the revision to rollback to.' });
  t.strictSame(missing?.deployment.metadata.annotations, { [deploymentRevision]: '3', cause: 'edit' });
  const same = planRollback(dialect, deployment('3'), sets);
  t.match(same?.event, {
    reason: 'DeploymentRollbackTemplateUnchanged',
    message: 'The rollback revision contains the same template as current deployment "web"',
  });
});

t.test('a malformed revision is ignored', async (t) => {
  t.equal(planRollback(dialect, deployment('one'), sets), undefined);
  t.equal(planRollback(dialect, deployment(''), sets), undefined);
});
