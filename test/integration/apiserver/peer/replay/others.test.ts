/** The answers to requests about all that has no other test here, beside those of kube-apiserver. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { isCore, isCustom, isWorkload } from '#test/integration/apiserver/peer/replay/parts.js';
import { replay } from '#test/integration/apiserver/peer/replay/replay.js';

await replay(t, { dialect, isIncluded: (file) => ![isCore, isWorkload, isCustom].some((has) => has(file)) });
