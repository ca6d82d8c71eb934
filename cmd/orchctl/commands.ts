/** All commands, in the order of the overview. */
import { apply } from '#cmd/orchctl/commands/apply.js';
import { audit } from '#cmd/orchctl/commands/audit/audit.js';
import { auth } from '#cmd/orchctl/commands/auth/auth.js';
import { codec } from '#cmd/orchctl/commands/codec.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { cordon, uncordon } from '#cmd/orchctl/commands/cordon.js';
import { create } from '#cmd/orchctl/commands/create.js';
import { deleteCommand } from '#cmd/orchctl/commands/delete.js';
import { describe } from '#cmd/orchctl/commands/describe.js';
import { drain } from '#cmd/orchctl/commands/drain.js';
import { attach, exec } from '#cmd/orchctl/commands/exec.js';
import { get } from '#cmd/orchctl/commands/get.js';
import { image } from '#cmd/orchctl/commands/image.js';
import { logs } from '#cmd/orchctl/commands/logs.js';
import { portForward } from '#cmd/orchctl/commands/port-forward.js';
import { proxy } from '#cmd/orchctl/commands/proxy.js';
import { rollout } from '#cmd/orchctl/commands/rollout.js';
import { scale } from '#cmd/orchctl/commands/scale.js';
import { apiResources, version } from '#cmd/orchctl/commands/server.js';
import { token } from '#cmd/orchctl/commands/token.js';
import { top } from '#cmd/orchctl/commands/top.js';
import { why } from '#cmd/orchctl/commands/why/why.js';

export const commands: readonly Command[] = [
  get,
  describe,
  why,
  auth,
  audit,
  apply,
  create,
  deleteCommand,
  scale,
  rollout,
  logs,
  exec,
  attach,
  portForward,
  proxy,
  image,
  codec,
  top,
  cordon,
  uncordon,
  drain,
  token,
  apiResources,
  version,
];
