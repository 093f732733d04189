// Which packages have code in our bundles: seen while they are made, so that no list of them can be out of date.

const found = new Set();

/** For every bundle: a plugin of the bundler. */
export const notePackages = {
  name: 'packages-inside',
  generateBundle(_, files) {
    const modules = Object.values(files).flatMap(({ moduleIds = [] }) => moduleIds);
    for (const id of modules) {
      const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//s.exec(id) ?? [];
      if (name) found.add(name);
    }
  },
};

/** Once all bundles are made. */
export function packagesInside() {
  return [...found].sort();
}
