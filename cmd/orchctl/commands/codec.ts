import type { Encoding } from '#apimachinery/codec/negotiate.js';
import { type DialectName, dialectByName } from '#apimachinery/dialect.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

const encodings: readonly Encoding[] = ['json', 'yaml', 'protobuf'];
const dialects: readonly DialectName[] = ['orch', 'kubernetes'];
/** An etcd value has at most 1.5 MiB, a list of the API rarely more than some tens. */
const maxInputBytes = 256 * 1024 * 1024;

export const codec: Command = {
  name: 'codec',
  usage: '--to json|yaml|protobuf < INPUT > OUTPUT',
  summary: 'Convert objects between JSON, YAML and Protobuf, without a server',
  examples: [
    'orchctl codec --to yaml < pod.pb',
    'orchctl codec --to protobuf --from yaml < manifests.yaml > list.pb',
    'etcdctl get --print-value-only /registry/pods/default/web-0 | orchctl codec --to yaml --dialect kubernetes',
  ],
  offline: true,
  options: {
    to: { type: 'string', oneOf: encodings, section: 'Conversion', meaning: 'Encoding to write.' },
    from: {
      type: 'string',
      default: 'auto',
      oneOf: ['auto', ...encodings],
      section: 'Conversion',
      meaning: 'Encoding of the input; auto detects it from the first bytes.',
    },
    dialect: {
      type: 'string',
      oneOf: dialects,
      section: 'Conversion',
      meaning: "Dialect of the objects' API group names; default: either.",
    },
  },
  async run(invocation) {
    const { values, out, err, args } = invocation;
    const to = encodings.find((encoding) => encoding === values.string('to'));
    if (to === undefined) throw new UsageError(`specify the output encoding: --to ${encodings.join('|')}`);
    if (args.length > 0) throw new UsageError(`the input is read from standard input: codec --to ${to} < ${args[0]}`);
    if (to === 'protobuf' && out.isTTY === true) {
      throw new UsageError('Protobuf would garble the terminal; send it to a file: codec --to protobuf > FILE');
    }
    const from = encodings.find((encoding) => encoding === values.string('from'));
    const dialect = values.string('dialect');
    const input = await readInput(invocation);
    // Imported on demand: only this command needs the schema of all kinds.
    const { convert, ConversionError } = await import('#cmd/orchctl/codec/convert.js');
    try {
      const { bytes, warnings } = convert(input, {
        to,
        ...(from === undefined ? {} : { from }),
        ...(dialect === undefined ? {} : { dialect: dialectByName(dialect) }),
      });
      for (const warning of warnings) err.write(`Warning: ${warning}\n`);
      out.write(bytes);
      return 0;
    } catch (error) {
      if (error instanceof ConversionError) throw new CommandError(`standard input: ${error.message}`);
      throw error;
    }
  },
};

async function readInput({ stdin }: Invocation): Promise<Buffer> {
  if (stdin.isTTY) throw new UsageError('no input: pass the object on standard input, codec --to yaml < FILE');
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of stdin) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : (part as Buffer);
    size += bytes.length;
    if (size > maxInputBytes) throw new CommandError(`standard input: more than ${maxInputBytes} bytes`);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
