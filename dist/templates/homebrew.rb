class Pfnset < Formula
  desc "Offline analyzer of Windows memory traces (.etl)"
  homepage "https://crates.io/crates/pfnset"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    url "https://static.crates.io/crates/pfnset/pfnset-@VERSION@.crate"
    sha256 "@SHA256_CRATE@"
    depends_on "rust" => :build
  end

  on_linux do
    depends_on arch: :x86_64
    url "@URL@/pfnset-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
    sha256 "@SHA256_LINUX@"
  end

  def install
    if OS.mac?
      system "cargo", "install", *std_cargo_args
    else
      bin.install "pfnset"
    end
    generate_completions_from_executable(bin/"pfnset", "completions")
    man1.mkpath
    system bin/"pfnset", "man", man1
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/pfnset --version")
    assert_match "Categor", shell_output("#{bin}/pfnset help resident")
  end
end
