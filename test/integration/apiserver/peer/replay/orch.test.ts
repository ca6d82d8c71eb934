/** Compares answers of the other dialect, for some kinds, with kube-apiserver's, whose names are translated. */
import t from 'tap';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { replay } from '#test/integration/apiserver/peer/replay/replay.js';

const files: ReadonlySet<string> = new Set([
  'coordination.v1.leases',
  'core.v1.services',
  'custom.v1.widgets',
  'networking.v1.ingressclasses',
  'printed.core.v1.pods',
  'printed.core.v1.services',
  'rbac.v1.roles',
  'scheduling.v1.priorityclasses',
]);

await replay(t, { dialect, isIncluded: (file) => files.has(file) });
