import { keepCompiled } from '#daemon/process/compile-cache.js';

keepCompiled(process.argv[1] ?? '');
await import('#cmd/orch-envtest/programs.js');
