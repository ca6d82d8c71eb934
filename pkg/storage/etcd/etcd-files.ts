/** Certificate files for etcd from options; they may be replaced at runtime. */
import { messageOf } from '#apimachinery/errors/message.js';
import { CertificateFiles, readFromDisk } from '#daemon/certificates/certificate-files.js';
import { OptionsError } from '#daemon/options/option.js';

const options = ['etcd-cafile', 'etcd-certfile', 'etcd-keyfile'] as const;

export type EtcdFileValues = { readonly [option in (typeof options)[number]]?: string | undefined };

/** Reads the files once; undefined without files. Throws OptionsError for unreadable files. */
export async function readEtcdFiles(values: EtcdFileValues): Promise<CertificateFiles | undefined> {
  const [ca, cert, key] = options.map((option) => (values[option] === '' ? undefined : values[option]));
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  const files = new CertificateFiles({
    files: { ca, cert, key },
    readFile: (path) => readFromDisk(path).catch((error: unknown) => refuse(values, path, error)),
  });
  await files.read();
  return files;
}

function refuse(values: EtcdFileValues, path: string, error: unknown): never {
  const option = options.find((each) => values[each] === path);
  throw new OptionsError([`--${option}: ${messageOf(error)}`]);
}
