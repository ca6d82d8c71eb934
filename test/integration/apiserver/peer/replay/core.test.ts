/** The answers to requests about objects of the core group, beside those of kube-apiserver. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { isCore } from '#test/integration/apiserver/peer/replay/parts.js';
import { replay } from '#test/integration/apiserver/peer/replay/replay.js';

await replay(t, { dialect, isIncluded: isCore });
