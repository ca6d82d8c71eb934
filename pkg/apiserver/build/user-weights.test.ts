import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { weightsOf } from '#apiserver/build/user-weights.js';

for (const dialect of [kubernetesDialect, orchDialect]) {
  t.test(`weights in the dialect ${dialect.name}`, async (t) => {
    const weightOf = weightsOf(dialect);
    const rows: [weight: number, user: string, group: string][] = [
      [100, 'root', dialect.groups.masters],
      [50, dialect.users.controllerManager, dialect.groups.authenticated],
      [20, 'system:serviceaccount:x:y', `system:serviceaccounts:${dialect.namespaces.system}`],
      [10, 'system:node:a', dialect.groups.nodes],
      [1, 'system:serviceaccount:x:y', 'system:serviceaccounts:x'],
      [1, 'stranger', dialect.groups.authenticated],
    ];
    for (const [weight, user, group] of rows) t.equal(weightOf(user, [group]), weight, `${user} of ${group}`);
  });
}
