class Checkstone < Formula
  desc "Hold points for AI coding agents"
  homepage "{{homepage}}"
  version "{{version}}"
  license any_of: ["MIT", "Apache-2.0"]

{{downloads}}
  depends_on "git"

  def install
    bin.install "bin/checkstone"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/checkstone.bash" => "checkstone"
    zsh_completion.install "completions/_checkstone"
    fish_completion.install "completions/checkstone.fish"
  end

  test do
    system bin/"checkstone", "demo", "--folder", testpath/"demo"
  end
end
