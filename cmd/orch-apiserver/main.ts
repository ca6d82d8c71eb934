#!/usr/bin/env node
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { guard } from '#daemon/process/guarded-process.js';
import { run } from '#daemon/run.js';

const guarded = guard(process);
process.exitCode = await run(apiServerProgram(guarded), guarded);
