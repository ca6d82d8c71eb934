/** Compares answers about the core group with kube-apiserver's. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { isCore } from '#test/integration/apiserver/peer/replay/parts.js';
import { replay } from '#test/integration/apiserver/peer/replay/replay.js';

await replay(t, { dialect, isIncluded: isCore });
