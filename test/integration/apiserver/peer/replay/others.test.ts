/** Compares answers about all other resources with kube-apiserver's. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { isCore, isCustom, isWorkload } from '#test/integration/apiserver/peer/replay/parts.js';
import { replay } from '#test/integration/apiserver/peer/replay/replay.js';

await replay(t, { dialect, isIncluded: (file) => ![isCore, isWorkload, isCustom].some((has) => has(file)) });
