#!/usr/bin/env node
import { apiServerProgram } from '#cmd/orch-apiserver/program.js';
import { run } from '#daemon/run.js';

process.exitCode = await run(apiServerProgram(process), process);
