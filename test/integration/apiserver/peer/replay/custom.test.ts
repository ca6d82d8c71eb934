/** Compares answers about definitions with every keyword, and about their objects, with kube-apiserver's. */
import t from 'tap';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { isCustom } from '#test/integration/apiserver/peer/replay/parts.js';
import { replay } from '#test/integration/apiserver/peer/replay/replay.js';

await replay(t, { dialect, isIncluded: isCustom });
