import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { defaultLeaderMigration, parseLeaderMigration, placementOf } from '#controllers/options/leader-migration.js';
import { OptionsError } from '#daemon/options/option.js';

const head = 'apiVersion: controllermanager.config.orch.io/v1alpha1\nkind: LeaderMigrationConfiguration\n';

function messages(text: string): readonly string[] {
  try {
    parseLeaderMigration(text, 'file');
    return [];
  } catch (error) {
    if (error instanceof OptionsError) return error.messages;
    throw error;
  }
}

t.test('a file assigns controllers to managers', (t) => {
  const text = `${head}leaderName: moving
controllerLeaders:
- {name: route, component: orch-controller-manager}
- {name: service, component: cloud-controller-manager}
- {name: nodelifecycle, component: "*"}
`;
  const migration = parseLeaderMigration(text, 'file');
  t.match(migration, { leaderName: 'moving', resourceLock: 'leases' });
  const place = (name: string) => placementOf(migration, 'orch-controller-manager', name);
  t.same(['route', 'service', 'nodelifecycle', 'deployment'].map(place), ['migrated', 'elsewhere', 'migrated', 'main']);
  for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
    for (const domain of ['orch.io', 'k8s.io']) {
      t.same(messages(text.replace('orch.io/v1alpha1', `${domain}/${version}`)), []);
    }
  }
  t.end();
});

t.test('all errors are reported together', (t) => {
  t.same(
    messages(`${head}resourceLock: files
controllerLeaders:
- {name: route}
- {component: x}
- {name: route, component: x}
other: 1
`),
    [
      'file: unknown field "other"',
      'file: leaderName: Required value: leaderName must be set for leader migration',
      'file: resourceLock: Invalid value: "files": must be one of leases, endpointsleases, configmapsleases, etcdleases',
      'file: controllerLeaders[0].component: Required value: component must be set',
      'file: controllerLeaders[1].name: Required value: name must be set',
      'file: controllerLeaders[2].name: Duplicate value: "route"',
    ],
  );
  t.match(messages('kind: Other'), [/^file: apiVersion and kind must be controllermanager\.config\.orch\.io or /]);
  t.end();
});

t.test('without a file the cloud controllers migrate', (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const migration = defaultLeaderMigration;
    t.equal(placementOf(migration, dialect.components.controllerManager, 'service'), 'migrated');
    t.equal(placementOf(migration, 'cloud-controller-manager', 'service'), 'migrated');
    t.equal(placementOf(migration, 'cloud-controller-manager', 'job'), 'main');
  }
  t.end();
});
