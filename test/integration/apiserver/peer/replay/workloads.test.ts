/** Compares answers about workloads with kube-apiserver's. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { isWorkload } from '#test/integration/apiserver/peer/replay/parts.js';
import { replay } from '#test/integration/apiserver/peer/replay/replay.js';

await replay(t, { dialect, isIncluded: isWorkload });
